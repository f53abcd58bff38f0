"""Who a client of a server speaks as: tokens, bound to projects, agents, users and rights."""
