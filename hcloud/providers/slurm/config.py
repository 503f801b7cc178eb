"""What a Slurm cluster needs for hcloud: the lines of slurm.conf, job_submit.lua, and the programs slurmctld calls."""

from __future__ import annotations

import shlex
from collections.abc import Iterator, Mapping

from hcloud.providers.slurm.site import FILE_NAME, MARK, PARKED_SECONDS, NodeGroup, SlurmSite, site_text

CONF, LUA, PROLOG, TASK_PROLOG = "hcloud.conf", "job_submit.lua", "hcloud-prolog", "hcloud-task-prolog"
INCLUDE = f"Include {CONF}"
"""Without a path, or machines that get slurm.conf from slurmctld would not get this file."""
PROGRAMS = {"ResumeProgram": "resume", "SuspendProgram": "suspend", "ResumeFailProgram": "resume-failed"}
NEVER = 365 * 86_400
"""Slurm's own idle time before it ends a node: hcloud decides that, and -1 would switch all power saving off."""
CONTROLLER_PARAMETERS = (
    "idle_on_node_suspend",
    "cloud_reg_addrs",
    "power_save_interval=2",
    "power_save_min_interval=1",
)
CONFIGLESS = "enable_configless"
"""With it slurmctld gives slurm.conf, and what it includes by a name without a path, to machines that have none."""
RESERVED_WEIGHT, ON_DEMAND_WEIGHT = 1, 100


def files(site: SlurmSite, place: str) -> Mapping[str, str]:
    """Every file by its name, as it is to stand in the folder ``place`` (that of slurm.conf)."""
    programs = {f"hcloud-{verb}": _program(site, verb, place) for verb in PROGRAMS.values()}
    own = {CONF: conf(site, place), LUA: lua(site), PROLOG: prolog(site)}
    if site.is_marked:
        own[TASK_PROLOG] = _TASK_PROLOG.replace("{folder}", shlex.quote(str(site.folder)))
    return {**own, FILE_NAME: site_text(site), **programs}


def base(site: SlurmSite) -> str:
    """A slurm.conf for where there is none, and all of a cluster is on this machine."""
    places = {name: quoted(f"{site.folder}/{name}") for name in ("slurmctld", "slurmctld.log", "jobcomp.log")}
    return _BASE.format(state=places["slurmctld"], log=places["slurmctld.log"], jobs=places["jobcomp.log"])


def quoted(value: str) -> str:
    """A value as slurm.conf takes it: in quotes where it has a space."""
    return f'"{value}"' if " " in value else value


def conf(site: SlurmSite, place: str) -> str:
    """The lines to include at the end of slurm.conf."""
    lines = [
        f"# Written by 'hcloud slurm config'. Add to the end of slurm.conf:  {INCLUDE}",
        *(f"{name}={quoted(value)}" for name, value in settings(site, place).items()),
        *_nodes(site),
    ]
    return "".join(f"{line}\n" for line in lines)


def settings(site: SlurmSite, place: str) -> Mapping[str, str]:
    """The settings of the whole cluster that hcloud relies on, by name."""
    found = {
        "JobSubmitPlugins": "lua",
        "PrologSlurmctld": f"{place}/{PROLOG}",
        **{name: f"{place}/hcloud-{verb}" for name, verb in PROGRAMS.items()},
        "SlurmctldParameters": ",".join((*CONTROLLER_PARAMETERS, *((CONFIGLESS,) if site.store else ()))),
        "PrivateData": "cloud",
        "ReturnToService": "2",
        "JobRequeue": "0",
        "ResumeTimeout": str(site.spin_up),
        "SuspendTimeout": str(site.shut_down),
        "ResumeRate": "0",
        "SuspendRate": "0",
        "TreeWidth": "65533",
    }
    if site.is_marked:
        found["TaskProlog"] = f"{place}/{TASK_PROLOG}"
    if excluded := [names for group in site.groups if (names := _range(site, group, reserved=True))]:
        found["SuspendExcNodes"] = ",".join(excluded)
    return found


def _nodes(site: SlurmSite) -> Iterator[str]:
    port, names = site.first_port, []
    for group in site.groups:
        for reserved in (True, False):
            count = group.reserved if reserved else group.on_demand
            if not count:
                continue
            name = _range(site, group, reserved=reserved)
            names.append(name)
            address = " NodeAddr=127.0.0.1" if site.is_marked else ""  # else told when it registers
            where = "" if port is None else f"{address} Port=[{port}-{port + count - 1}]"
            port = None if port is None else port + count
            yield (
                f"NodeName={name} CPUs={group.vcpus} RealMemory={group.memory} State=CLOUD"
                f" Weight={RESERVED_WEIGHT if reserved else ON_DEMAND_WEIGHT}"
                f" Feature={'reserved' if reserved else 'ondemand'}{where}"
            )
    if names:
        yield (
            f"PartitionName={site.partition} Nodes={','.join(names)} State=UP SuspendTime={NEVER}"
            f" DefMemPerCPU={_memory_of_a_vcpu(site)}"
        )


def _memory_of_a_vcpu(site: SlurmSite) -> int:
    """What a job gets that asks for no memory; without it Slurm gives it all of a node's."""
    return min(group.memory // group.vcpus for group in site.groups)


def _range(site: SlurmSite, group: NodeGroup, *, reserved: bool) -> str:
    count = group.reserved if reserved else group.on_demand
    return f"{site.stem(group.type_name, reserved=reserved)}[0-{count - 1}]" if count else ""


def _program(site: SlurmSite, verb: str, place: str) -> str:
    """slurmctld calls it with the names of nodes, without PATH and HOME, and with signals blocked."""
    words = shlex.join([*site.command, "slurm", verb, "--site", f"{place}/{FILE_NAME}"])
    log = shlex.quote(str(site.folder / "power.log"))
    return _PROGRAM.replace("{words}", words).replace("{log}", log)


def lua(site: SlurmSite) -> str:
    """Runs inside slurmctld for each job that is submitted: it must be quick and call nothing."""
    hold = _PARK.replace("{parked}", str(PARKED_SECONDS)) if site.keeps_order else _HOLD
    return _LUA.replace("{hold}", hold).replace("{partition}", site.partition).replace("{mark}", MARK)


def prolog(site: SlurmSite) -> str:
    """Runs on slurmctld's machine before a job begins: it takes the job's ticket, and refuses a second begin."""
    return _PROLOG.replace("{partition}", site.partition).replace("{folder}", shlex.quote(str(site.folder)))


_BASE = f"""\
# Written by 'hcloud slurm config': a cluster on one machine, to try.
ClusterName=hcloud
SlurmctldHost=localhost(127.0.0.1)
SlurmUser=root
AuthType=auth/munge
CredType=cred/munge
CommunicationParameters=NoInAddrAny,NoCtldInAddrAny
StateSaveLocation={{state}}
SlurmdSpoolDir=/var/spool/slurmd.%n
SlurmctldPidFile=/run/slurmctld.pid
SlurmdPidFile=/run/slurmd.%n.pid
SlurmctldLogFile={{log}}
SlurmdLogFile=/var/log/slurmd.%n.log
ProctrackType=proctrack/linuxproc
TaskPlugin=task/none
JobAcctGatherType=jobacct_gather/none
SelectType=select/cons_tres
SelectTypeParameters=CR_Core_Memory
SlurmdParameters=config_overrides
JobCompType=jobcomp/filetxt
JobCompLoc={{jobs}}
SchedulerParameters=sched_min_interval=100000,bf_interval=1
SlurmdTimeout=30
MpiDefault=none
SwitchType=switch/none
{INCLUDE}
"""

_HOLD = "      job_desc.priority = 0"
_PARK = """\
      local begin, now = job_desc.begin_time, os.time()
      if begin == nil or begin <= now then
         job_desc.begin_time = now + {parked}
      else
         job_desc.priority = 0
      end"""
_LUA = """\
-- Written by 'hcloud slurm config'. Jobs of hcloud's partition wait until hcloud has chosen their node.
-- Jobs of all other partitions are left alone.
local ours = {["{partition}"] = true}

local function is_ours(job_desc, part_list)
   local asked = job_desc.partition
   if asked == nil then
      for name, part in pairs(part_list) do
         if part.flag_default == 1 then asked = name end
      end
   end
   if asked == nil then return false end
   for name in string.gmatch(asked, "[^,]+") do
      if not ours[name] then return false end
   end
   return true
end

function slurm_job_submit(job_desc, part_list, submit_uid)
   if is_ours(job_desc, part_list) and job_desc.priority ~= 0 then
{hold}
      job_desc.admin_comment = "{mark}"
   end
   return slurm.SUCCESS
end

function slurm_job_modify(job_desc, job_rec, part_list, modify_uid)
   return slurm.SUCCESS
end

return slurm.SUCCESS
"""

_PROGRAM = """\
#!/bin/sh
# Written by 'hcloud slurm config'. slurmctld calls this with the names of nodes, and kills what is left of its process
# group when it returns, which it does at once: the work is done in a session of its own.
PATH=/usr/bin:/bin
setsid -f {words} "$@" >> {log} 2>&1 < /dev/null
"""

_TASK_PROLOG = """\
#!/bin/sh
# Written by 'hcloud slurm config'. Machines are groups of processes of this machine: what a job starts carries the mark
# of the machine that it runs on, so that it ends with it.
read -r mark < {folder}/marks/"$SLURMD_NODENAME" && echo "export HYC_MACHINE=$mark"
exit 0
"""

_PROLOG = """\
#!/bin/sh
# Written by 'hcloud slurm config'. slurmctld calls this before it begins a job (PrologSlurmctld).
# hcloud leaves a ticket for each job it lets begin; the job takes it here. A slurmctld that forgot that a job began
# tries to begin it again: there is no ticket any more, and the job is refused. Jobs without a ticket that never began
# (somebody else released them) pass.
PATH=/usr/bin:/bin
[ "$SLURM_JOB_PARTITION" = {partition} ] || exit 0
job=$SLURM_JOB_ID
[ -n "$SLURM_ARRAY_JOB_ID" ] && job=${SLURM_ARRAY_JOB_ID}_$SLURM_ARRAY_TASK_ID
cd {folder} 2>/dev/null || exit 0
mv -T "tickets/$job" "begun/$job" 2>/dev/null && { echo "$job" > bell; exit 0; }
[ -e "begun/$job" ] && exit 1
exit 0
"""
