"""Post a file as a comment on the pull (GitHub) or merge (GitLab) request of this pipeline, or update the one there is.

The first line of the file is a marker that no reader sees; a comment of our own that begins with it is updated.
Only what a pipeline has: Python, and a token in GITHUB_TOKEN (pull-requests: write) or GITLAB_TOKEN (scope api).
"""

import json
import os
import sys
import urllib.request
from itertools import count

PER_PAGE = 100


def call(method, url, headers, body=None):
    data = None if body is None else json.dumps({"body": body}).encode()
    request = urllib.request.Request(url, data, {**headers, "Content-Type": "application/json"}, method=method)
    with urllib.request.urlopen(request, timeout=30) as answer:
        return json.load(answer)


def pages(url, headers):
    for page in count(1):
        found = call("GET", f"{url}?per_page={PER_PAGE}&page={page}", headers)
        yield from found
        if len(found) < PER_PAGE:
            return


def on_github(text, marker):
    api = f"{os.environ['GITHUB_API_URL']}/repos/{os.environ['GITHUB_REPOSITORY']}/issues"
    headers = {"Authorization": f"Bearer {os.environ['GITHUB_TOKEN']}", "Accept": "application/vnd.github+json"}
    number = os.environ["GITHUB_REF"].split("/")[2]  # refs/pull/NUMBER/merge
    comments = f"{api}/{number}/comments"
    ours = (c["id"] for c in pages(comments, headers) if c["user"]["type"] == "Bot" and c["body"].startswith(marker))
    old = next(ours, None)
    if old is None:
        call("POST", comments, headers, text)
    else:
        call("PATCH", f"{api}/comments/{old}", headers, text)


def on_gitlab(text, marker):
    api, headers = os.environ["CI_API_V4_URL"], {"PRIVATE-TOKEN": os.environ["GITLAB_TOKEN"]}
    notes = f"{api}/projects/{os.environ['CI_PROJECT_ID']}/merge_requests/{os.environ['CI_MERGE_REQUEST_IID']}/notes"
    me = call("GET", f"{api}/user", headers)["id"]
    ours = (n["id"] for n in pages(notes, headers) if n["author"]["id"] == me and n["body"].startswith(marker))
    old = next(ours, None)
    if old is None:
        call("POST", notes, headers, text)
    else:
        call("PUT", f"{notes}/{old}", headers, text)


if __name__ == "__main__":
    with open(sys.argv[1], encoding="utf-8") as file:
        body = file.read()
    (on_gitlab if "GITLAB_CI" in os.environ else on_github)(body, body.split("\n", 1)[0])
