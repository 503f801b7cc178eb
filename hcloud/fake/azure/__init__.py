"""The fake Azure: the Resource Manager's REST API for machines, networks and reservations, as its SDKs speak it."""
