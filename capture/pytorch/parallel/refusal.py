"""The error of this package that is for the user."""


class Refusal(ValueError):
    """One sentence on what cannot be traced as asked, and what can."""
