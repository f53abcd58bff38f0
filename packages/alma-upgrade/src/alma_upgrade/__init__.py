"""Upgrades of stores and exports that former versions wrote."""
