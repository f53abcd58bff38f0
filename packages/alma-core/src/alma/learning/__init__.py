"""How outcomes become evidence, rules and warnings: pure, without I/O and without a clock."""
