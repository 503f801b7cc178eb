"""Output of other programs that is not read as it is: the nearest that is read, and the command that makes it."""

from __future__ import annotations

import re

from hcloud.readers.workloads.formats.jobs.pods import COMMAND as KUBECTL
from hcloud.readers.workloads.formats.jobs.slurm import COMMAND as SACCT

_LSF = (
    """awk 'BEGIN {print "submit,start,end,cores"} $1 == "\\"JOB_FINISH\\"" && $11 {print $8 "," $11 "," $3 "," $7}'"""
    " lsb.acct > jobs.csv"
)
_ATTEMPTS = (
    r"""jq '[.[] as $a | $a.attempts[] | {id: "\($a.id)/\(.attemptId // 1)", cores: $a.coresGranted,"""
    " submit: (.startTimeEpoch / 1000), end: (if .completed then .endTimeEpoch / 1000 else null end)}]' apps.json >"
    " jobs.json, and add what each took where coresGranted is null (YARN, Kubernetes)"
)
_EXECUTORS = (
    "jq '[.[] | select(.totalCores > 0) | {id, submit: .addTime, end: .removeTime, cores: .totalCores}]' FILE"
    " > jobs.json"
)
_EXPORTED = (
    """(echo time,name,value; jq -r '(.metric | tostring) as $s | [.timestamps, .values] | transpose[] |"""
    """ [.[0], $s, .[1]] | @csv' FILE) > use.csv"""
)
_RAY = "curl http://SERVER:8265/api/jobs/ > jobs.json, and add the vCPUs and memory of each where it has none"
_AIRFLOW = "curl -u USER 'http://SERVER:8080/api/v1/dags/~/dagRuns/~/taskInstances?limit=100000' > tasks.json"
_SAGEMAKER = (
    "for j in $(aws sagemaker list-training-jobs --query 'TrainingJobSummaries[].TrainingJobName' --output text); do"
    " aws sagemaker describe-training-job --training-job-name $j; done | jq -c '{id: .TrainingJobName, submit:"
    " .CreationTime, start: .TrainingStartTime, end: .TrainingEndTime, gpus: (if .ResourceConfig.InstanceType |"
    ' test("^ml.(g|p|trn|inf)") then 1 else 0 end), cores: (.ResourceConfig | .InstanceCount *'
    r""" (.InstanceType | if test("[0-9]xlarge$") then 4 * (capture("(?<n>[0-9]+)xlarge$").n | tonumber)"""
    """ elif endswith(".xlarge") then 4 else 2 end))}' > jobs.json"""
)
OTHER_JSON: tuple[tuple[frozenset[str], str, str], ...] = tuple(
    (frozenset(keys.split()), nearest, command)
    for keys, nearest, command in (
        (
            "resultType vector",
            "an answer of Prometheus at one moment; a plan needs a range",
            "ask /api/v1/query_range with start, end and step in place of /api/v1/query",
        ),
        ("resultType", "an answer of Prometheus of another type than matrix", "ask /api/v1/query_range for a vector"),
        (
            "Event Timestamp",
            "Spark's event log, which has applications in several lines; its history server's list is read",
            f"curl http://SERVER:18080/api/v1/applications > apps.json; {_ATTEMPTS}",
        ),
        ("addTime totalCores", "Spark's list of executors (jobs-csv), once each is a job", _EXECUTORS),
        ("attempts sparkUser", "Spark's list of applications, once each attempt is a job", _ATTEMPTS),
        (
            "Reservations Instances",
            "a list of EC2 instances, without their use over time",
            "ask for their use: aws cloudwatch get-metric-data, or aws cloudwatch get-metric-statistics",
        ),
        (
            "Metrics Namespace",
            "CloudWatch's list of metrics, without their samples",
            "ask for the samples: aws cloudwatch get-metric-data",
        ),
        (
            "MetricDataResults",
            "CloudWatch's answer (monitoring) without samples",
            "ask for another time range, or other instances",
        ),
        ("metric timestamps", "VictoriaMetrics' export; as a table (machines) it is read", _EXPORTED),
        (
            "metric values",
            "Prometheus' list of series, as '.data.result' takes it out of its answer; the answer (monitoring) is read",
            "give the whole answer, or: jq '{data: {resultType: \"matrix\", result: .}}' FILE > use.json",
        ),
        ("timeseries", "Azure Monitor's answer (monitoring) without 'value'", "az monitor metrics list > FILE"),
        ("timeSeries", "Google's timeSeries.list (monitoring) without points", "ask with view=FULL"),
        (
            "pbs_version",
            "qstat's JSON; PBS's accounting log (pbs) is read",
            "cat /var/spool/pbs/server_priv/accounting/2* > pbs.log",
        ),
        ("TrainingJobArn", "SageMaker's jobs (jobs-csv), once each has the vCPUs of its instances", _SAGEMAKER),
        ("ProcessingJobArn", "SageMaker's jobs; its training jobs are read likewise (jobs-csv)", _SAGEMAKER),
        ("closure launchPlan", "Flyte's executions, without what their tasks request; their pods have it", KUBECTL),
        ("COMMAND RECORDS", "bjobs' JSON; LSF's accounting (jobs-csv) is read, once it is a table", _LSF),
        ("jobs", "sacct's JSON (slurm), whose jobs have 'submission' and 'elapsed'", "sacct --json > FILE"),
        ("items", "kubectl's list of pods (pods)", KUBECTL),
    )
)

_ARGO = "argo list -A -o json > flows.json, or kubectl get workflows -A -o json > flows.json"
_SADF = (
    """awk -F';' 'BEGIN {print "time,name,percent"} !/^#/ && $4 == -1 {print $3 "," $1 "," $5 + $6 + $7}' FILE"""
    " > use.csv"
)
_DSTAT = (
    """awk -F, '{gsub(/"/, "")} /(^|,)usr,sys,idl/ {for (i = NF; i; i--) at[$i] = i; print "time,percent"; on = 1;"""
    """ next} on {print $(at["epoch"] ? at["epoch"] : at["time"]) "," 100 - $at["idl"] - $at["wai"]}' FILE > use.csv"""
)
_TOP = (
    "(echo time,%s,cpu,memory; while sleep 60; do kubectl top %s --no-headers | awk -v t=$(date +%%s)"
    """ '{print t "," %s}'; done) > use.csv"""
)
_TOP_NODES = _TOP % ("node", "nodes", '$1 "," $2 "," $4')
_TOP_PODS = _TOP % ("pod", "pods -A", '$1 "/" $2 "," $3 "," $4')
_TOP_ROWS = (
    """awk '!/CPU.cores/ {for (i = 3; i < 5; i++) if ($i ~ /^[0-9]+m$/) print $1 "," (i == 4 ? $2 "/" $3 : $2) "," $i"""
    """ "," $(i + 1 + ($(i + 1) ~ /%/))}'"""
)
_TOP_OF_LINES = f"(echo time,name,cpu,memory; {_TOP_ROWS} FILE) > use.csv"
_TOP_BELOW_TIMES = (
    '(echo time,name,cpu,memory; while read -r l; do t=$(date -d "$l" +%s 2> /dev/null) && at=$t || echo "$at $l"; done'
    f" < FILE | {_TOP_ROWS}) > use.csv"
)
_COMMAS = "write commas: tr '|' ',' < FILE > mended.csv"
_CLOUDWATCH = "ask for JSON: aws cloudwatch get-metric-data --output json, or get-metric-statistics"
OTHER_TEXT: tuple[tuple[re.Pattern[str], str, str], ...] = tuple(
    (re.compile(pattern), nearest, command)
    for pattern, nearest, command in (
        (
            r"JOBID\s+USER\s+(STAT|JOB_NAME)\s|Job <\d|Summary of time in seconds",
            "LSF's text for people; its accounting (jobs-csv) is read, once it is a table",
            _LSF,
        ),
        (r"\s*JOBID\s+\S", "a list of squeue, without times; sacct (slurm) has them", f"{SACCT} > jobs.txt"),
        (
            r"(?i)\s*JobID\b.*\s\s",
            "sacct's list in columns of fixed width; -P (slurm) separates them",
            f"{SACCT} > jobs.txt",
        ),
        (r"# hostname,", "sadf -d -- -u (machines), once it has user, nice and system alone", _SADF),
        (r'"?(pcp-)?[Dd]stat\b', "dstat -Tc --output (machines), once it has the use alone", _DSTAT),
        (r"Linux \S+ \(", "sar's text; sadf (machines) writes a table of the same", f"sadf -d -- -u > FILE; {_SADF}"),
        (r"top - \d", "top's text, without dates; sadf (machines) has them", f"sadf -d -- -u > FILE; {_SADF}"),
        (r"procs -", "vmstat's text, without times; sadf (machines) has them", f"sadf -d -- -u > FILE; {_SADF}"),
        (r"(NAMESPACE|NAME)\s.*\sDURATION", "argo's table, without requests; as JSON (pods) it is read", _ARGO),
        (r"- metadata:", "argo's YAML; as JSON (pods) it is read", _ARGO),
        (r"\[JobDetails\(", "what 'ray job list' prints; as JSON (jobs-csv) it is read", _RAY),
        (r"dag_id\s*\|", "Airflow's table; the JSON of its tasks (jobs-csv) is read", _AIRFLOW),
        (r"NAME\s+CPU\(cores\)\s+CPU", "kubectl top's table of nodes (machines), without times", _TOP_NODES),
        (r"(NAMESPACE|NAME|POD)\s.*CPU\(cores\)", "kubectl top's table (machines), without times", _TOP_PODS),
        (
            r"[A-Z][a-z]{2},? +\w+ +\S+ .*\d:\d\d[^,;|]*$|\d{4}-\d\d-\d\d[T ][\d:.]+Z?([-+][\d:]+)?$",
            "kubectl top in a loop below date (machines), once the times are in its lines",
            _TOP_BELOW_TIMES,
        ),
        (r"\S+\s+(\S+\s+){1,2}\d+m\s+(\d+%\s+)?\d+[KMG]i\b", "kubectl top in a loop (machines)", _TOP_OF_LINES),
        (r"(NAMESPACE|NAME)\s+\S", "kubectl's table, without times and requests (pods)", KUBECTL),
        (r'"JOB_FINISH"|Accounting information about jobs', "LSF's accounting (jobs-csv), once it is a table", _LSF),
        (r"[^|,;\t]+(\|[^|,;\t]+)+$", "a table (jobs-csv) whose columns a bar separates", _COMMAS),
        (r"apiVersion: ", "kubectl's YAML; as JSON (pods) it is read", KUBECTL),
        (r"(Datapoints|MetricDataResults|Messages|Label):", "CloudWatch's answer (monitoring) as YAML", _CLOUDWATCH),
        (r"-{8}|METRICDATARESULTS|CPUUtilization\s*$", "CloudWatch's answer (monitoring) as text", _CLOUDWATCH),
        (
            r'"?(Full label|Label)"?,',
            "what CloudWatch's console downloads; its answer as JSON is read (monitoring)",
            _CLOUDWATCH,
        ),
    )
)
