"""Runs the jobs of one machine: begins what is put into its folder, watches over it, and tells how each attempt ended.

It runs on the machine with that folder as its argument, and imports little, so that it is small. A file that is renamed
is all that it and hcloud say to each other, so that either may be killed between any two steps::

    inbox/NAME      an attempt to begin: what to run, as JSON
    running/NAME    renamed from inbox: it has begun, and will not begin again
    done/NAME.CODE.BEGAN.ENDED.MEMORY   renamed again: how it ended is its name, for which a full disk has room
    asks/NAME.stop  end this attempt (0: at once)   asks/NAME.cpu   let it use so many thousandths of a vCPU
    progress/NAME   written by the job          up, lock        this program is ready, and holds the lock as it lives
    leaving         nothing begins here any more        poke, ../poke   pipes that wake this program, and hcloud

An attempt ends with its main process. Whatever it left running is killed first: what is in its control group, and what
became a child of this program because its own parent ended, as far as its group, its mark, its session or its time of
start says that the attempt started it.
"""

from __future__ import annotations

FOLDERS = ("inbox", "running", "done", "asks", "progress")
MARK = "HYC_JOB"
GROUP = "job-"
LOST, NEVER = "lost", "never"
AT_ONCE = "0"
