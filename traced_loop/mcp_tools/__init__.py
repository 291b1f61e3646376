"""Tools that servers of the Model Context Protocol have, as tools of a loop; needs the extra ``traced-loop[mcp]``.

A server is somebody else's program: what it says of its tools is a hint, what its tools give is data, and what it asks
of us (sampling, elicitation, roots) is refused.
"""
