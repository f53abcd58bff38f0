"""Parts that every server of a store has: allowed hosts, deadlines of headers, lines of log, opening beside the server, sockets."""
