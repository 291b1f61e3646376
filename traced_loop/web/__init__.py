"""The local page: stored runs, confirmations and a lab in a browser, served to this machine alone.

Pages are made on the server. A view is a module with a function ``routes()``; what views share is the ``site``. What
is shown of a trace is a stranger's text: every value goes through ``templates``, and every request through ``guard``.
"""
