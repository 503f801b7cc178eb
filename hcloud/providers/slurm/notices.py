"""Clouds that tell a machine alone that they take it away: how it hears of that, and drains its own node."""

from __future__ import annotations

_GOOGLE = """\
# https://cloud.google.com/compute/docs/instances/spot (preempted), .../metadata/getting-live-migration-notice
taken() {
  if [ "$(told preempted)" = TRUE ]; then
    echo "Google takes the spot machine back"
  elif [ "$(told maintenance-event)" = TERMINATE_ON_HOST_MAINTENANCE ]; then
    echo "Google ends it to maintain its host"
  fi
}
told() {
  curl -sf -m 2 --noproxy '*' -H 'Metadata-Flavor: Google' \\
    "http://metadata.google.internal/computeMetadata/v1/instance/$1"
}
"""
_AZURE = """\
# https://learn.microsoft.com/azure/virtual-machines/linux/scheduled-events; those of other machines are told, too
taken() {
  name="$(told 'instance/compute/name?api-version=2021-02-01&format=text')" && [ -n "$name" ] || return 0
  told 'scheduledevents?api-version=2020-07-01' | tr -d ' \\t\\r\\n' | tr '{' '\\n' | grep -F "\\"$name\\"" |
    sed -n 's/.*"EventType":"\\(Preempt\\|Terminate\\|Redeploy\\|Reboot\\)".*/Azure tells of: \\1/p' | head -n 1
}
told() { curl -sf -m 5 --noproxy '*' -H Metadata:true "http://169.254.169.254/metadata/$1"; }
"""
_TAKEN = {"gcp": _GOOGLE, "azure": _AZURE}
_HEED = """\
  if [ -z "$heeded" ] && why="$(taken)" && [ -n "$why" ]; then
    scontrol update nodename={node} state=drain reason="cloud: $why" && heeded=1
  fi
"""


def listening(cloud: str) -> str:
    """A function of a shell, ``taken``, which prints why the cloud is going to take the machine away, or nothing; empty
    where the cloud tells whoever asks it from elsewhere."""
    return _TAKEN.get(cloud, "")


def heeding(cloud: str, node: str) -> str:
    """What a machine does again and again: it drains its node once its cloud tells that it takes the machine away."""
    return _HEED.format(node=node) if cloud in _TAKEN else ""
