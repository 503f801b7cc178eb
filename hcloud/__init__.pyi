from hcloud import errors as errors
from hcloud.notebook.api import plan as plan
from hcloud.notebook.api import read as read
from hcloud.notebook.api import report as report
from hcloud.notebook.api import simulate as simulate

__version__: str
