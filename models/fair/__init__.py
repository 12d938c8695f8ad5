"""Fair division of exchangeable GPU types: what is asked, what an answer is, how it is judged."""
