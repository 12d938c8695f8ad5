"""Fair division of exchangeable resources: what is asked, what an answer is, how it is judged."""
