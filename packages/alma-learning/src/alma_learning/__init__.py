"""The learning of ALMA: outcomes in, advice out."""
