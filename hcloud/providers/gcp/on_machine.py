"""How a machine of Google reads a secret with its own role, and hears that it is taken away."""

from __future__ import annotations

from hcloud.providers.on_machine import OnMachine

_TAKEN = """\
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
ON_MACHINE = OnMachine(
    reads="gcloud --quiet secrets versions access latest --secret {name}-{what}",
    right="secretmanager.versions.access on the secrets {name}-munge-key and {name}-controller",
    identity="live.settings.service_account",
    tool="gcloud",
    taken=_TAKEN,
)
