"""Static analysers as a critic of code."""
