"""The use cases of ALMA, one per file, behind one façade."""
