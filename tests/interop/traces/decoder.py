#!/usr/bin/env python3
"""Does OpenTelemetry's own code read what a collector is sent, does it fit the conventions, and does no failure lose a span?

Usage: tests/interop/traces/decoder.py BIN_DIR http|grpc [--seed N] [--kills N] [--conventions FOLDER]
  BIN_DIR: where subagentd and subagent lie. Needs PyPI's opentelemetry-proto, grpcio, PyYAML and jsonschema (requirements.txt), and
  npm for the names of the conventions 1.41.1 (@opentelemetry/semantic-conventions). --conventions: a checkout of
  open-telemetry/semantic-conventions at v1.41.1; with it types, required attributes and the schemas of messages are checked, too.
A receiver on loopback decodes traces, metrics and log lines by the generated classes. At random it answers 500 or 503, 429 with
Retry-After (gRPC: INTERNAL, UNAVAILABLE, RESOURCE_EXHAUSTED), hangs, closes the connection, or takes a request and loses the
answer. The daemon is killed (`kill -9`) meanwhile, six times or more. In the end each span of `trace/get` must have arrived, as
`trace/export` has it, which protobuf's own reader of JSON must read; twice only if an answer was lost or the daemon killed, and
then the same; and no other. What is spoilt afterwards must be noticed. Exits 1 when something is amiss, 77 when something is not
installed.
"""
import argparse, base64, collections, concurrent.futures, gzip, http.server, json, pathlib, random, re, subprocess, sys, tempfile
import threading, time

sys.dont_write_bytecode = True
from daemon import HOOKS, Daemon, Model, need, told, tree, wait_until

VERSION = "1.41.1"
PACKAGE = f"@opentelemetry/semantic-conventions@{VERSION}"
# Of one request of the daemon.
TIMEOUT_MS = 1500
# A collector that fails every time is given up on; here two failures in a row are the most.
MOST_FAILURES_TOGETHER = 2
# The daemon goes on being killed until it met each fault, but not longer than this.
MOST_SECONDS = 75
HTTP_FAULTS = ["500", "503", "429", "hang", "close", "lose", "lose by hanging"]
GRPC_FAULTS = ["INTERNAL", "UNAVAILABLE", "RESOURCE_EXHAUSTED", "hang", "lose", "lose by hanging"]


class Receiver:
    """What arrived, and what is answered next. `spans`: by id, each arrival as (time, message, whether the answer was sent)."""

    def __init__(self, faults, chance):
        self.lock, self.faults, self.chance, self.row = threading.Lock(), faults, chance, 0
        self.spans, self.requests, self.counts = collections.defaultdict(list), collections.defaultdict(list), collections.Counter()
        self.is_reliable = False

    def next(self):
        with self.lock:
            fault = self.chance.choice(self.faults) if self.chance.random() < 0.7 else "none"
            if self.is_reliable or self.row >= MOST_FAILURES_TOGETHER:
                fault = "none"
            self.row = 0 if fault == "none" else self.row + 1
            self.counts[fault] += 1
            return fault

    def take(self, signal, request, is_answered):
        with self.lock:
            self.requests[signal].append(request)
            if signal != "traces":
                return
            for resource in request.resource_spans:
                for scope in resource.scope_spans:
                    for span in scope.spans:
                        self.spans[span.span_id.hex()].append((time.monotonic(), span, is_answered))


def services():
    from opentelemetry.proto.collector.logs.v1 import logs_service_pb2 as logs, logs_service_pb2_grpc as logs_grpc
    from opentelemetry.proto.collector.metrics.v1 import metrics_service_pb2 as metrics, metrics_service_pb2_grpc as metrics_grpc
    from opentelemetry.proto.collector.trace.v1 import trace_service_pb2 as traces, trace_service_pb2_grpc as traces_grpc
    return {
        "traces": (traces.ExportTraceServiceRequest, traces.ExportTraceServiceResponse, traces_grpc.TraceServiceServicer,
                   traces_grpc.add_TraceServiceServicer_to_server),
        "metrics": (metrics.ExportMetricsServiceRequest, metrics.ExportMetricsServiceResponse, metrics_grpc.MetricsServiceServicer,
                    metrics_grpc.add_MetricsServiceServicer_to_server),
        "logs": (logs.ExportLogsServiceRequest, logs.ExportLogsServiceResponse, logs_grpc.LogsServiceServicer,
                 logs_grpc.add_LogsServiceServicer_to_server),
    }


class Http:
    def __init__(self, receiver):
        known = services()

        class Handler(http.server.BaseHTTPRequestHandler):
            protocol_version = "HTTP/1.1"
            timeout = 30

            def do_POST(self):
                body = self.rfile.read(int(self.headers["content-length"]))
                if self.headers.get("content-encoding") == "gzip":
                    body = gzip.decompress(body)
                signal = self.path.removeprefix("/v1/")
                make_request, make_response, _, _ = known[signal]
                if self.headers["content-type"] != "application/x-protobuf":
                    raise ValueError(self.headers["content-type"])
                request = make_request.FromString(body)
                fault = receiver.next()
                if fault in ("none", "lose", "lose by hanging"):
                    receiver.take(signal, request, fault == "none")
                if fault.endswith("hang") or fault.endswith("hanging"):
                    time.sleep(TIMEOUT_MS / 1000 + 1)
                if fault in ("close", "lose") or "hang" in fault:
                    self.close_connection = True
                    return
                answer = make_response().SerializeToString() if fault == "none" else b"not now"
                self.send_response(200 if fault == "none" else int(fault))
                self.send_header("Content-Type", "application/x-protobuf" if fault == "none" else "text/plain")
                self.send_header("Content-Length", str(len(answer)))
                if fault == "429":
                    self.send_header("Retry-After", "1")
                self.end_headers()
                self.wfile.write(answer)

            def log_message(self, *_):
                pass

        class Server(http.server.ThreadingHTTPServer):
            def handle_error(self, *_):
                error = sys.exc_info()[1]
                if not isinstance(error, (ConnectionError, TimeoutError)):
                    receiver.counts[f"not read: {type(error).__name__} {error}"] += 1

        self.server = Server(("127.0.0.1", 0), Handler)
        self.server.daemon_threads = True
        self.port = self.server.server_port
        threading.Thread(target=self.server.serve_forever, daemon=True).start()

    def end(self):
        self.server.shutdown()
        self.server.server_close()


class Grpc:
    def __init__(self, receiver):
        import grpc
        self.server = grpc.server(concurrent.futures.ThreadPoolExecutor(32))
        for signal, (_, make_response, servicer, add) in services().items():
            class Service(servicer):
                def __init__(self, signal, make_response):
                    self.signal, self.make_response = signal, make_response

                def Export(self, request, context):
                    fault = receiver.next()
                    if fault in ("none", "lose", "lose by hanging"):
                        receiver.take(self.signal, request, fault == "none")
                    if "hang" in fault:
                        time.sleep(TIMEOUT_MS / 1000 + 1)
                    if fault == "none":
                        return self.make_response()
                    context.abort(getattr(grpc.StatusCode, fault, grpc.StatusCode.UNAVAILABLE), "not now")

            add(Service(signal, make_response), self.server)
        self.port = self.server.add_insecure_port("127.0.0.1:0")
        self.server.start()

    def end(self):
        self.server.stop(0).wait()


def parsed(exported):
    """Protobuf's own reading of a span of `trace/export`. OTLP's JSON differs from protobuf's in one thing: ids are hexadecimal."""
    from google.protobuf import json_format
    from opentelemetry.proto.trace.v1.trace_pb2 import Span
    told = dict(exported)
    for key in ("traceId", "spanId", "parentSpanId"):
        if key in told:
            told[key] = base64.b64encode(bytes.fromhex(told[key])).decode()
    return json_format.ParseDict(told, Span())


def value_of(value):
    kind = value.WhichOneof("value")
    return [value_of(it) for it in value.array_value.values] if kind == "array_value" else getattr(value, kind)


def attributes_of(message):
    return {it.key: value_of(it.value) for it in message.attributes}


def arrived(receiver, spans, kills):
    faults, known = [], set()
    for span in spans:
        wanted = parsed(span["otlp"])
        id = wanted.span_id.hex()
        known.add(id)
        came = receiver.spans.get(id, [])
        if not came:
            faults.append(f"{wanted.name} {id} never arrived")
        for _, other, _ in came:
            if other != wanted:
                fields = [field.name for field in wanted.DESCRIPTOR.fields]
                parts = [name for name in fields if getattr(wanted, name) != getattr(other, name)]
                faults.append(f"{wanted.name} {id} arrived with other {', '.join(parts)}: {str(other)[:300]!r}, "
                              f"and exported is {str(wanted)[:300]!r}")
        for (at, _, is_answered), (later, _, _) in zip(came, came[1:]):
            if is_answered and not any(at <= kill <= later for kill in kills):
                faults.append(f"{wanted.name} {id} came again though its arrival was confirmed")
    faults += [f"{came[0][1].name} {id} is in no trace" for id, came in receiver.spans.items() if id not in known]
    faults += [what for what in receiver.counts if what.startswith("not read")]
    return faults


def enveloped(receiver):
    """Resources and scopes, metrics and log lines."""
    faults, names = set(), set()
    schema = f"https://opentelemetry.io/schemas/{VERSION}"
    for request in receiver.requests["traces"]:
        for resource in request.resource_spans:
            has = attributes_of(resource.resource)
            if has.get("service.name") != "subagentd" or not has.get("service.version"):
                faults.add(f"the resource is {has}")
            if {resource.schema_url, *(scope.schema_url for scope in resource.scope_spans)} != {schema}:
                faults.add(f"the schema is {resource.schema_url!r}")
    for request in receiver.requests["metrics"]:
        for resource in request.resource_metrics:
            for metric in (metric for scope in resource.scope_metrics for metric in scope.metrics):
                names.add(metric.name)
                kind = metric.WhichOneof("data")
                data = getattr(metric, kind)
                if not metric.description or not data.data_points:
                    faults.add(f"the metric {metric.name} has no description, or no points")
                # Cumulative; counters only grow.
                if kind != "gauge" and data.aggregation_temporality != 2 or kind == "sum" and not data.is_monotonic:
                    faults.add(f"the metric {metric.name}: {kind}, {data.aggregation_temporality}")
                for point in data.data_points:
                    start, at = point.start_time_unix_nano, point.time_unix_nano
                    if not at or kind != "gauge" and not 0 < start <= at:
                        faults.add(f"the metric {metric.name} has the times {start}, {at}")
                    if kind != "histogram":
                        continue
                    if len(point.bucket_counts) != len(point.explicit_bounds) + 1 or sum(point.bucket_counts) != point.count:
                        faults.add(f"the metric {metric.name} has buckets that do not add up")
    lines = [line for request in receiver.requests["logs"] for resource in request.resource_logs for scope in resource.scope_logs
             for line in scope.log_records]
    for line in lines:
        if not line.time_unix_nano or not line.body.string_value or not 1 <= line.severity_number <= 24:
            faults.add(f"a line of the log: {str(line)[:200]!r}")
        if len(line.trace_id) not in (0, 16) or len(line.span_id) not in (0, 8):
            faults.add(f"a line of the log has ids of another length: {line.trace_id!r} {line.span_id!r}")
    if len(names) < 20 or not lines:
        faults.add(f"{len(names)} metrics and {len(lines)} lines of the log arrived")
    return sorted(faults)


def names_of_conventions():
    """Names of attributes, and the values that are listed for some: of the npm package; nothing where that cannot be had."""
    with tempfile.TemporaryDirectory() as folder:
        done = subprocess.run(["npm", "pack", "--silent", PACKAGE], cwd=folder, capture_output=True, text=True)
        if done.returncode != 0:
            return None
        subprocess.run(["tar", "xzf", done.stdout.strip()], cwd=folder, check=True)
        files = [pathlib.Path(folder) / f"package/build/src/{part}_attributes.d.ts" for part in ("stable", "experimental")]
        text = "".join(file.read_text() for file in files)
    constants = dict(re.findall(r"const ATTR_(\w+): \"([^\"]+)\"", text))
    values = collections.defaultdict(set)
    for name, value in re.findall(r"const (\w+_VALUE_\w+): \"([^\"]+)\"", text):
        if attribute := constants.get(name.split("_VALUE_")[0]):
            values[attribute].add(value)
    return set(constants.values()), values


# Values that the conventions list, and others may be used.
OPEN = {"gen_ai.provider.name", "error.type"}


def named(spans, names, values):
    """Everything that is not ours has a name of the conventions, and a value that they list, if they do."""
    faults = set()
    for span in spans:
        for key, value in attributes_of(span).items():
            if key.startswith("subagentd."):
                continue
            if key not in names:
                faults.add(f"{key} is no attribute of the conventions {VERSION}")
            if key in values and key not in OPEN and value not in values[key]:
                faults.add(f"{key} is {value!r}, which is not among {sorted(values[key])}")
    return sorted(faults)


class Conventions:
    """The model of the conventions: their own YAML, and their schemas of messages."""

    def __init__(self, folder):
        import yaml
        self.attributes, self.groups = {}, {}
        for file in sorted((folder / "model").rglob("*.yaml")):
            for group in (yaml.safe_load(file.read_text()) or {}).get("groups", []):
                self.groups[group["id"]] = group
                for attribute in group.get("attributes", []):
                    if "id" in attribute:
                        self.attributes[attribute["id"]] = attribute
        self.schemas = {f"gen_ai.{side}.messages": json.loads((folder / f"docs/gen-ai/gen-ai-{side}-messages.json").read_text())
                        for side in ("input", "output")}

    def required(self, group):
        group, names = self.groups[group], set()
        if "extends" in group:
            names |= self.required(group["extends"])
        return names | {it.get("ref") or it["id"] for it in group.get("attributes", []) if it.get("requirement_level") == "required"}

    def fits(self, key, value):
        kind = self.attributes[key]["type"]
        if isinstance(kind, dict):
            return isinstance(value, str) and (key in OPEN or value in {member["value"] for member in kind["members"]})
        # What has a structure is JSON in an attribute of spans.
        types = {"string": str, "int": int, "double": float, "boolean": bool, "any": str}
        if kind.endswith("[]"):
            return isinstance(value, list) and all(isinstance(it, types[kind[:-2]]) for it in value)
        return isinstance(value, types[kind])


# By operation: the group of the model, the kind of the span, and what its name is made of.
OPERATIONS = {
    "chat": ("span.gen_ai.inference.client", 3, "gen_ai.request.model"),
    "invoke_agent": ("span.gen_ai.invoke_agent.internal", 1, "gen_ai.agent.name"),
    "execute_tool": ("span.gen_ai.execute_tool.internal", 1, "gen_ai.tool.name"),
}


def spoilt_copies(spans):
    """A request to a model with one thing wrong each."""
    asked = next(span for span in spans if attributes_of(span).get("gen_ai.operation.name") == "chat")

    def with_attribute(key, **value):
        span = type(asked)()
        span.CopyFrom(asked)
        kept = [it for it in asked.attributes if it.key != key]
        del span.attributes[:]
        span.attributes.extend(kept)
        if value:
            told = span.attributes.add(key=key)
            for name, it in value.items():
                setattr(told.value, name, it)
        return span
    return {
        "no name of theirs": with_attribute("gen_ai.nonsense", string_value="x"),
        "no value of theirs": with_attribute("gen_ai.operation.name", string_value="talk"),
        "another type": with_attribute("gen_ai.usage.input_tokens", string_value="120"),
        "no provider": with_attribute("gen_ai.provider.name"),
        "no message of theirs": with_attribute("gen_ai.output.messages", string_value='[{"role": "assistant"}]'),
    }


def fitting(spans, folder):
    import jsonschema
    conventions, faults, tried = Conventions(folder), set(), collections.Counter()
    for span in spans:
        has = attributes_of(span)
        for key, value in has.items():
            if key in conventions.attributes and not conventions.fits(key, value):
                faults.add(f"{key} is {value!r}, and the conventions want {conventions.attributes[key]['type']}")
            if key in conventions.schemas:
                tried[key] += 1
                for error in jsonschema.Draft202012Validator(conventions.schemas[key]).iter_errors(json.loads(value)):
                    faults.add(f"{key}: {error.message[:300]}")
        operation = has.get("gen_ai.operation.name")
        tried[operation] += 1
        if operation in OPERATIONS:
            group, kind, about = OPERATIONS[operation]
            faults |= {f"{operation} has no {key}" for key in conventions.required(group) - has.keys()}
            if span.kind != kind or span.name != f"{operation} {has.get(about)}":
                faults.add(f"{span.name} is of the kind {span.kind}, and has the {about} {has.get(about)}")
        if span.status.code == 2 and operation and "error.type" not in has:
            faults.add(f"{span.name} failed and has no error.type")
    faults |= {f"no span has {it}" for it in (*OPERATIONS, *conventions.schemas) if not tried[it]}
    return sorted(faults)


def main():
    options = argparse.ArgumentParser()
    options.add_argument("programs")
    options.add_argument("protocol", choices=["http", "grpc"])
    options.add_argument("--seed", type=int, default=int(time.time()))
    options.add_argument("--kills", type=int, default=6)
    options.add_argument("--conventions", type=pathlib.Path)
    options = options.parse_args()
    need("opentelemetry.proto", "grpc", "yaml", "jsonschema")
    print(f"decoder {options.protocol} --seed {options.seed} --kills {options.kills}", flush=True)
    chance, began = random.Random(options.seed), time.monotonic()
    is_http = options.protocol == "http"
    receiver = Receiver(HTTP_FAULTS if is_http else GRPC_FAULTS, random.Random(options.seed + 1))
    server = (Http if is_http else Grpc)(receiver)
    kills = []
    with Model(tree, random.Random(options.seed + 2), slowest=0.3) as model:
        otlp = {"endpoint": f"http://127.0.0.1:{server.port}", "protocol": "http/protobuf" if is_http else "grpc",
                "timeoutMs": TIMEOUT_MS, "compression": chance.choice(["none", "gzip"])}
        settings = {"providers": model.providers, "hooks": HOOKS, "tracing": {"otlp": otlp}}
        variables = {"OTEL_METRIC_EXPORT_INTERVAL": "2000"}
        with Daemon(options.programs, settings, files={"a.txt": "alpha\n"}, variables=variables) as daemon:
            runs = []
            is_met = lambda: all(receiver.counts[fault] for fault in receiver.faults)
            while len(kills) < options.kills or not is_met() and time.monotonic() - began < MOST_SECONDS:
                runs += [daemon.begin("lead", model.name, f"Do number {len(runs)}")]
                wait = time.monotonic() + chance.uniform(0.3, 5)
                while time.monotonic() < wait:
                    daemon.answer_questions()
                    time.sleep(0.05)
                daemon.kill()
                kills.append(time.monotonic())
                time.sleep(chance.uniform(0, 0.5))
                daemon.start()

            def is_over():
                daemon.answer_questions()
                return all(daemon.is_over(run) for run in runs)
            wait_until("all runs are over", is_over)
            receiver.is_reliable = True
            wait_until("everything is confirmed", lambda: daemon.gauge("subagentd_otlp_backlog_events") == 0)
            spans = [span for run in runs for span in daemon.spans(run)]
            time.sleep(3)  # for the metrics and the log
            all_dropped = [line for line in daemon.metrics().splitlines() if line.startswith("subagentd_otlp_dropped_total{")]
            dropped = [f"dropped: {line}" for line in all_dropped if '"traces"' in line and not line.endswith(" 0")]
    server.end()
    twice = sum(len(came) > 1 for came in receiver.spans.values())
    print(f"    {len(runs)} traces, {len(spans)} spans, {twice} of them came more than once; {dict(receiver.counts)}; "
          f"{otlp['compression']}, {time.monotonic() - began:.0f} s")
    what = f"decoder-{options.protocol}"
    is_wrong = told(f"{what}-spans", arrived(receiver, spans, kills) + dropped)
    spoilt = Receiver([], chance)
    spoilt.spans = {id: came for id, came in list(receiver.spans.items())[1:]}
    is_wrong |= told(f"{what}-one-less-noticed", [] if arrived(spoilt, spans, kills) else ["nobody misses a span"])
    is_wrong |= told(f"{what}-envelopes-metrics-logs", enveloped(receiver))
    messages = [parsed(span["otlp"]) for span in spans]
    spoilt = spoilt_copies(messages)
    if known := names_of_conventions():
        is_wrong |= told(f"{what}-names", named(messages, *known))
        unseen = [name for name in ("no name of theirs", "no value of theirs") if not named([spoilt[name]], *known)]
        is_wrong |= told(f"{what}-names-spoilt-noticed", unseen)
    else:
        print(f"skipped: {what}-names (no {PACKAGE} from npm)")
    if options.conventions:
        faults = fitting(messages, options.conventions)
        is_wrong |= told(f"{what}-conventions", faults)
        unseen = [name for name, span in spoilt.items() if name != "no name of theirs"
                  and set(fitting([*messages, span], options.conventions)) <= set(faults)]
        is_wrong |= told(f"{what}-conventions-spoilt-noticed", unseen)
    else:
        print(f"skipped: {what}-conventions (no --conventions given)")
    return 1 if is_wrong else 0


if __name__ == "__main__":
    sys.exit(main())
