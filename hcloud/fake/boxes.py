"""A system of its own for each machine of a fake cloud: processes, /run, munge and slurmd's folders, and the cloud's
command, which answers from the fake's store of secrets. Needs root, as everything that mounts does."""

from __future__ import annotations

import hashlib
import shlex
from dataclasses import dataclass
from pathlib import Path

from hcloud.fake.execute import Image

OWN = ("/run", "/etc/munge", "/var/lib/munge", "/var/log/munge", "/etc/slurm", "/var/spool", "/var/log/slurm")
"""What a machine does not share with this one, where this one has it: empty when the machine starts."""
MUNGE = "/etc/munge /var/lib/munge /var/log/munge"
COMMANDS = "/usr/local/sbin"
"""Where the image has the cloud's command: the first folder that start-up scripts look in."""
_BOX = """\
#!/bin/sh
# A machine of a fake cloud
cat > user-data <<'{mark}'
{script}
{mark}
chmod 700 user-data
exec unshare --mount --propagation private --pid --fork --kill-child --mount-proc /bin/sh -ec {boot}
"""
_BOOT = """\
for place in {own}; do [ ! -d "$place" ] || mount -t tmpfs -o mode=755 tmpfs "$place"; done
chown munge: {munge}
chmod 700 {munge}
mkdir -p {commands}
mount --bind {bin} {commands}
{more}
exec ./user-data
"""


@dataclass(frozen=True, slots=True)
class Box(Image):
    """``secrets`` is the folder of the store, a file for each secret under the name that its cloud gives it; ``bin`` is
    where the commands are put. ``own`` are more folders that machines do not share with this one, ``boot`` is what
    their image does before it runs user data."""

    secrets: Path
    bin: Path
    own: tuple[Path, ...] = ()
    boot: str = ""

    def put(self, name: str, value: str) -> None:
        """Put a secret into the store."""
        path = self.secrets / name.strip("/")
        path.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
        path.touch(mode=0o600)
        path.write_text(value, encoding="utf-8")

    def warn(self, machine: str) -> None:
        """Tell a machine, by the name that it runs under, that its cloud takes it back."""
        self._told.mkdir(parents=True, exist_ok=True)
        (self._told / machine).touch()

    @property
    def _told(self) -> Path:
        return self.bin.with_name(f"{self.bin.name}-told")

    def install(self) -> None:
        """Put the commands where machines find them."""
        self.bin.mkdir(parents=True, exist_ok=True)
        for name, text in _COMMANDS.items():
            path = self.bin / name
            answers = text
            for what, folder in (("{secrets}", self.secrets), ("{told}", self._told)):
                answers = answers.replace(what, shlex.quote(str(folder.absolute())))
            path.write_text(answers, encoding="utf-8")
            path.chmod(0o755)

    def dress(self, script: str) -> str:
        """The script that starts a machine whose user data is ``script``."""
        own = shlex.join([*OWN, *(str(path) for path in self.own)])
        found = {"own": own, "munge": MUNGE, "commands": COMMANDS, "bin": shlex.quote(str(self.bin.absolute()))}
        mark = hashlib.sha256(script.encode()).hexdigest()[:16]
        return _BOX.format(script=script, mark=mark, boot=shlex.quote(_BOOT.format(more=self.boot, **found)))


_HEAD = """\
#!/bin/sh
# Answers as the cloud's own command does, from the secrets in a folder; every other word is refused.
cd {secrets} 2>/dev/null
"""
_COMMANDS = {
    "aws": _HEAD
    + """\
[ "$1 $2" = "ssm get-parameter" ] || { echo "aws: Invalid choice: $*" >&2; exit 252; }
shift 2
while [ $# -gt 0 ]; do
  case $1 in
    --with-decryption) decrypted=1; shift ;;
    --name) name=$2; shift 2 ;;
    --query) query=$2; shift 2 ;;
    --output) output=$2; shift 2 ;;
    *) echo "aws: Unknown options: $1" >&2; exit 252 ;;
  esac
done
case $name in
  /*) ;;
  */*) echo "An error occurred (ValidationException): $name must be a fully qualified name" >&2; exit 254 ;;
esac
[ "$decrypted$query$output" = "1Parameter.Valuetext" ] || { echo '{"Parameter": {}}'; exit 0; }
cat ".$name" 2>/dev/null || { echo "An error occurred (ParameterNotFound) when calling GetParameter" >&2; exit 254; }
echo
""",
    "gcloud": _HEAD
    + """\
[ "$1" = --quiet ] && shift
[ "$1 $2 $3 $4 $5" = "secrets versions access latest --secret" ] && [ $# = 6 ] || {
  echo "ERROR: (gcloud) Invalid choice: $*" >&2; exit 2; }
cat "./$6" 2>/dev/null || { echo "ERROR: (gcloud.secrets.versions.access) NOT_FOUND: Secret $6" >&2; exit 1; }
""",
    "az": _HEAD
    + """\
[ "$*" = "login --identity" ] && { : > /run/az-login; echo '[{"state": "Enabled"}]'; exit 0; }
[ -e /run/az-login ] || { echo "ERROR: Please run 'az login' to setup account." >&2; exit 1; }
[ "$1 $2 $3 $4 $6 $8 $9" = "keyvault secret show --vault-name --name --query value" ] || {
  echo "ERROR: '$*' is misspelled or not recognized" >&2; exit 2; }
[ "${10} ${11}" = "--output tsv" ] || { echo '{"value": ""}'; exit 0; }
cat "./$5/$7" 2>/dev/null || { echo "ERROR: (SecretNotFound) A secret with (name) $7 was not found" >&2; exit 3; }
echo
""",
    "curl": """\
#!/bin/sh
# Answers as the metadata servers of Google and Azure do; there is no other host.
machine=${HYC_MACHINE##*/}
for word; do
  case $word in http*) url=$word ;; *[Mm]etadata*:*) header=$word ;; esac
done
case $url in
  http://metadata.google.internal/computeMetadata/v1/instance/*)
    [ "$header" = "Metadata-Flavor: Google" ] || exit 22
    case $url in
      */preempted) [ -e {told}/"$machine" ] && echo TRUE || echo FALSE ;;
      */maintenance-event) echo NONE ;;
      *) exit 22 ;;
    esac ;;
  http://169.254.169.254/metadata/*api-version=*)
    [ "$header" = Metadata:true ] || exit 22
    case $url in
      */instance/compute/name*format=text) printf %s "$machine" ;;
      */scheduledevents*)
        printf '{"DocumentIncarnation": 1, "Events": ['
        for told in {told}/*; do
          [ -e "$told" ] || continue
          printf '%s{"EventId": "e", "EventType": "Preempt", "ResourceType": "VirtualMachine", ' "$comma"
          printf '"Resources": ["%s"], "EventStatus": "Scheduled"}' "${told##*/}"
          comma=", "
        done
        printf ']}' ;;
      *) exit 22 ;;
    esac ;;
  *) echo "curl: (6) Could not resolve host" >&2; exit 6 ;;
esac
""",
    "systemctl": """\
#!/bin/sh
echo "System has not been booted with systemd as init system (PID 1). Can't operate." >&2
exit 1
""",
}
