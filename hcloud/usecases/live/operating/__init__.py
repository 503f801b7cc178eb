"""``hcloud operate``: opening live work, going on with it, asking its controller, and what it cost beside others."""
