"""What a machine gives, measured by its start-up script before it joins Slurm, and told in the comment of its node."""

from __future__ import annotations

from typing import NamedTuple

MARK = "hcloud-probe"
"""How the comment begins: ``hcloud-probe:MACHINE:METHOD:VCPUS:CPU:MEMORY``, the last two in rounds a second."""
TRIES = 240
"""Ours: half seconds for which a machine tries to tell; slurmctld may be killed meanwhile."""
_END = "PROBE_ENDS_HERE"

_MEASURE = """\
probe() {{
  most={vcpus}
  if python3 -I -S - "$most" <<'{end}'
{program}
import sys
count = min(len(os.sched_getaffinity(0)), int(sys.argv[1]))
print("python", count, *("%.1f" % rate for rate in on_all(count)), sep=":")
{end}
  then return; fi
  command -v awk >/dev/null && command -v dd >/dev/null && count=$(getconf _NPROCESSORS_ONLN) || return
  [ "$count" -le "$most" ] || count=$most
  cpu=$(timed 'awk "BEGIN {{ for (i = 0; i < 4000000; i++) x = (x * 11035 + 12345) % 65536 }}"' 4000)
  memory=$(timed 'dd if=/dev/zero of=/dev/null bs=16M count=128' 2048)
  echo "awk:$count:$cpu:$memory"
}}
hundredths() {{ read -r up rest < /proc/uptime; echo "${{up%.*}}${{up#*.}}"; }}
timed() {{
  began=$(hundredths); n=0
  while [ $n -lt "$count" ]; do sh -c "$1" >/dev/null 2>&1 & n=$((n + 1)); done
  wait
  ended=$(hundredths)
  echo $((count * $2 * 100 / (ended - began + 1)))
}}
measured="$(probe 2>/dev/null)"
"""
_TELL = """\
[ -z "$measured" ] || {{
  n=0
  until scontrol update nodename={node} comment="{mark}:{machine}:$measured" >/dev/null 2>&1 || [ $n -ge {tries} ]; do
    n=$((n + 1)); sleep 0.5
  done
}} &
"""


class Rates(NamedTuple):
    """What a machine gave: rounds a second in arithmetic and in memory, on so many vCPUs, by the method that counted
    them: only rounds of one method compare."""

    method: str
    vcpus: int
    cpu: float
    memory: float


def measuring(program: str, vcpus: int) -> str:
    """The part of a start-up script that measures for about a second, before Slurm runs anything on the machine;
    ``program`` is Python that has ``on_all``."""
    return _MEASURE.format(program=program.rstrip(), vcpus=vcpus, end=_END)


def telling(node: str, machine: int) -> str:
    """The part that tells Slurm of it, once the machine has joined."""
    return _TELL.format(node=node, mark=MARK, machine=machine, tries=TRIES)


def told(comment: str, machine: int) -> Rates | None:
    """What the comment of a node says of a machine; None where it is about another one, or about something else."""
    mark, _, rest = comment.partition(":")
    try:
        number, method, vcpus, cpu, memory = rest.split(":")
        found = Rates(method, int(vcpus), float(cpu), float(memory))
    except ValueError:
        return None
    mine = mark == MARK and number == str(machine)
    return found if mine and 0 < found.cpu < float("inf") and 0 < found.memory < float("inf") else None
