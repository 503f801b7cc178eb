"""What a kernel can decide and why, as numbers; :mod:`hcloud.control.sessions.decode` puts them into words."""

RESERVED, ON_DEMAND, LARGE, QUEUE, SPOT, REFUSE = range(6)
"""Where a job goes: the reserved pool, the on-demand type that fits it, a large on-demand instance, the local queue of
the reserved pool, spot capacity, nowhere."""

(
    ONLY_RESERVED,
    ONLY_ON_DEMAND,
    COIN,
    SENSITIVE,
    TOLERANT,
    BELOW_LIMIT,
    ABOVE_LIMIT,
    BELOW_SOFT,
    TYPE_GOOD_ENOUGH,
    TYPE_TOO_NOISY,
    WAIT_TOO_LONG,
    WAIT_SHORT,
    POOL_FULL,
    RESTARTABLE,
    TOO_LARGE,
    FROM_QUEUE,
    NO_SPOT,
    POOL_GROWN,
    HELD_BACK,
    AT_SERVERS,
    TOO_MANY,
    WITH_OTHERS,
    DISPLACES,
    AS_BEFORE,
    AWAITS_OFFER,
    HELD_BY_NONE,
) = range(26)
"""Why it goes there."""

CLASSED = 64
"""Reasons that name a class (from 0) are so many times what is said of it, plus the class."""
WAITS_IN_CLASS, WAITS_BELOW, WAITS_FOR_ANY, OWN_POOL, POOL_ABOVE, POOL_BELOW, WINDOW_OVER, NEVER_WAITS = range(1, 9)
"""It waits for a server of its class's pool, or of a lower one's, or for any since its window is over; it gets one of
its own pool, of the one above, of a lower one that it went to, any at the end of its window or at once."""

PLACE, LAUNCH, WAIT, TURN_AWAY, RETAIN, RELEASE, ENLARGE, MOVE, END, SHRINK, ADD_SERVER, DROP_SERVER = range(12)
"""What the controller tells its driver to do."""

(
    NO_JOB_LEFT,
    BADLY_BEHAVED,
    RETENTION_OVER,
    STILL_WANTED,
    INTERRUPTED,
    LAUNCH_FAILED,
    LOST,
    POOL_SHRUNK,
    CANCELLED,
    TAKEN_AWAY,
) = range(10)
"""Why an instance is released or kept, and why a job ended with it."""

TOO_NOISY, MISCLASSIFIED, PIECE_LOST, BETTER_ELSEWHERE, MAKES_ROOM, YIELDS = range(6)
"""Why a job is moved: what it was estimated to tolerate was not kept from it, the estimate was wrong, another of its
pieces was lost with its machine, another server pays, a neighbour of it is below its target, or it is best effort and
others need what it has."""

BEST_FIT, LEAST_LOADED, FIRST_FIT = range(3)
"""Orders of the greedy placement."""

(
    GREEDY,
    BY_NUMBER,
    BY_LOAD,
    BY_CHANCE,
    BY_PLATFORM,
    BY_FIT,
    FILTERED,
    FILTERED_BY_CHANCE,
    BY_COLOCATION,
    BY_MATCH,
    BY_PROBES,
    BY_OFFER,
) = range(12)
"""By what a placement ranks the servers that have room: the greedy walk; lowest number; least load; none; best
platform; no harm, then best platform, then least load; Paragon's filters, then closest fit, or any that passed; quality
of colocation; match of a resource unit; the first of the servers asked that has room, or gets it; none, as
whole servers are offered."""

SCALE = 10_000
"""Qualities are compared by their two leading digits: 0..9999."""
