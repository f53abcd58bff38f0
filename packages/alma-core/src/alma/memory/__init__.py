"""The waist: what ALMA does, one use case a file, behind one façade."""
