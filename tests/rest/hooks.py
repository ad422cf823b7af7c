"""What `cargo xtask fuzz` tells schemathesis beyond the OpenAPI document: which objects there are, one call of each
operation that succeeds, what would end the run's own credentials, and that owners must not meet each other's objects.

Reads the file in PINHOLE_KNOWN, and appends a line for each answer to the file in PINHOLE_TALLY."""

import base64
import hashlib
import hmac
import json
import os
import threading
import time
import zlib

import schemathesis
from schemathesis.core.parameters import ParameterLocation
from schemathesis.wfc.escalation import ANONYMOUS, escalating_provider

with open(os.environ["PINHOLE_KNOWN"]) as file:
    GIVEN = json.load(file)
KNOWN = GIVEN["known"]
# Ids of principals, sessions and tokens that the run itself calls with, and of anybody else's that must outlive it.
OWN = set(GIVEN["own"])
# Names of members that differ in what they name from operation to operation.
ONLY = {"begin_session": {"name": ["carol"]}}
OWNERS = ("alice", "bob")
# What an owner is told of the other's objects: nothing, or what is wrong with the call before anything is loaded.
BLIND = {401, 404, 405, 406, 413, 415, 422, 429}
# What is of the installation rather than of a project, and what nothing is looked up by.
SHARED = {"principal_id", "group_id", "token_id", "subject", "remote", "branch", "line", "queue", "digest", "intent_digest", "scenario", "environment"}

lock = threading.Lock()
tally = open(os.environ["PINHOLE_TALLY"], "a", buffering=1)


def name_of(operation):
    return operation.definition.raw["operationId"]


def values(owner, operation, member):
    return ONLY.get(operation, {}).get(member) or KNOWN[owner].get(member) or []


def replaced(value, member, choose):
    """The value with every member that names something real naming what was chosen."""
    if isinstance(value, dict):
        return {name: replaced(inner, name, choose) for name, inner in value.items()}
    if isinstance(value, list):
        # A list of receipts holds what a member of one receipt is called with.
        return [replaced(inner, member.removesuffix("s") + "_id", choose) for inner in value]
    return choose(member, value) if isinstance(value, str) else value


def spared(value):
    """The value without the ids that the run depends on."""
    if isinstance(value, dict):
        return {name: spared(inner) for name, inner in value.items()}
    if isinstance(value, list):
        return [spared(inner) for inner in value]
    if isinstance(value, str) and value in OWN:
        return value[:4] + "0" * 32
    return value


def is_positive(case, location):
    return location in case.meta.components and not case.meta.is_negative_at(location)


PARTS = {
    ParameterLocation.PATH: "path_parameters",
    ParameterLocation.QUERY: "query",
    ParameterLocation.BODY: "body",
}


@schemathesis.hook
def before_call(context, case, kwargs):
    operation = name_of(case.operation)
    if case.meta is not None:
        make_real(case, operation)
    if case.method != "GET":
        for part in PARTS.values():
            value = getattr(case, part)
            if isinstance(value, (dict, list)) and spared(value) != value:
                setattr(case, part, spared(value))
    person = GIVEN["ending"].get(operation)
    if person and "Cookie" in case.headers:
        for header in GIVEN["callers"][person]:
            case.headers[header["name"]] = header["value"]


def make_real(case, operation):
    """Lets most of what may be well-formed name what exists: mostly the caller's own, now and then the other owner's."""
    parts = {part: getattr(case, part) for location, part in PARTS.items() if is_positive(case, location)}
    # The same input names the same objects, whenever and however often it is sent.
    number = zlib.crc32(repr(sorted(parts.items())).encode())
    fate, place = number % 8, number // 8
    if fate == 0:
        return
    caller = "bob" if case.auth_identity == "bob" else "alice"
    owner = caller if fate < 7 else OWNERS[1 - OWNERS.index(caller)]

    def choose(member, value):
        if any(value in values(owner, operation, member) for owner in OWNERS):
            return value
        known = values(owner, operation, member)
        return known[place % len(known)] if known else value

    for part, value in parts.items():
        if isinstance(value, dict):
            real = replaced(value, "", choose)
            if real != value:
                setattr(case, part, real)


@schemathesis.hook
def before_add_examples(context, examples):
    call = GIVEN["calls"].get(name_of(context.operation))
    if call is None:
        return
    headers = {header["name"]: header["value"] for header in GIVEN["callers"].get(call["as"], [])}
    if call.get("key"):
        headers["Idempotency-Key"] = "the-call-that-succeeds"
    if "version" in call:
        headers["If-Match"] = str(call["version"])
    arguments = {"path_parameters": call.get("path"), "query": call.get("query")}
    if call.get("body") is not None:
        arguments.update(body=call["body"], media_type="application/json")
    if "sign" in call:
        body = json.dumps(call["body"]).encode()
        headers.update(signature(call["sign"], body), **{"Content-Type": "application/octet-stream"})
        arguments.update(body=body, media_type="application/octet-stream")
    case = context.operation.Case(headers=headers, **{k: v for k, v in arguments.items() if v is not None})
    # Made-up calls come from whoever the operation is for: the first that is let in by chance would stay the caller.
    callers = escalating_provider(context.operation.schema)
    caller = {"nobody": ANONYMOUS}.get(call["as"], call["as"] if call["as"] in callers.names else "alice-session")
    callers._assigned[context.operation.label] = callers.names.index(caller)
    if caller != ANONYMOUS:
        case._has_explicit_auth, case._auth_identity = True, caller
    examples.append(case)


def signature(secret, body):
    """The headers of a delivery, after the Standard Webhooks."""
    sent, key = str(int(time.time())), base64.b64decode(secret.removeprefix("whsec_"))
    code = hmac.new(key, f"delivery.{sent}.".encode() + body, hashlib.sha256).digest()
    return {
        "webhook-id": "delivery",
        "webhook-timestamp": sent,
        "webhook-signature": "v1," + base64.b64encode(code).decode(),
    }


@schemathesis.hook
def after_call(context, case, response):
    with lock:
        tally.write(f"{name_of(case.operation)}\t{response.status_code}\n")


def named(value, member=""):
    """Every text in a part of a call, with the member that it is in."""
    if isinstance(value, dict):
        for name, inner in value.items():
            yield from named(inner, name)
    elif isinstance(value, list):
        for inner in value:
            yield from named(inner, member)
    elif isinstance(value, str):
        yield member, value


FOREIGN = {
    owner: {
        value
        for member, known in KNOWN[OWNERS[1 - OWNERS.index(owner)]].items()
        if member not in SHARED
        for value in known
    }
    for owner in OWNERS
}


@schemathesis.check
def owners_do_not_meet(ctx, response, case):
    """A call that names anything of the other owner's project finds nothing there."""
    foreign = FOREIGN.get((case.auth_identity or "").removesuffix("-session"))
    if foreign is None:
        return
    for part in PARTS.values():
        for member, value in named(getattr(case, part)):
            if value in foreign:
                assert response.status_code in BLIND, f"{case.auth_identity} met {member} {value} of the other owner"
