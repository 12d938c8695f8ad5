"""What is asked and what makes an answer right: problems, formulations, bounds, checkers."""
