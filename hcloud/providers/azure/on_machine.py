"""How a machine of Azure reads a secret with its own role, and hears that it is taken away."""

from __future__ import annotations

from hcloud.providers.on_machine import OnMachine

_TAKEN = """\
# https://learn.microsoft.com/azure/virtual-machines/linux/scheduled-events; those of other machines are told, too
taken() {
  name="$(told 'instance/compute/name?api-version=2021-02-01&format=text')" && [ -n "$name" ] || return 0
  told 'scheduledevents?api-version=2020-07-01' | tr -d ' \\t\\r\\n' | tr '{' '\\n' | grep -F "\\"$name\\"" |
    sed -n 's/.*"EventType":"\\(Preempt\\|Terminate\\|Redeploy\\|Reboot\\)".*/Azure tells of: \\1/p' | head -n 1
}
told() { curl -sf -m 5 --noproxy '*' -H Metadata:true "http://169.254.169.254/metadata/$1"; }
"""
ON_MACHINE = OnMachine(
    reads=(
        "az login --identity >/dev/null && "
        "az keyvault secret show --vault-name {name} --name slurm-{what} --query value --output tsv"
    ),
    right="the role Key Vault Secrets User on the secrets slurm-munge-key and slurm-controller of {name}",
    identity="live.settings.identity",
    tool="az",
    taken=_TAKEN,
)
