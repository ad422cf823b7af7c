"""The Python client on a running server: lists and calls in both modes, and checks answers against the schemas that the
tools declare. Started with the URL of the endpoint and with the token in PINHOLE_TOKEN."""

import asyncio
import os
import sys

import jsonschema
from mcp import Client
from mcp.client.streamable_http import create_mcp_http_client, streamable_http_client

PROJECT = "python"


async def check(url: str, mode: str) -> list[str]:
    headers = {"Authorization": f"Bearer {os.environ['PINHOLE_TOKEN']}"}
    http = create_mcp_http_client(headers=headers)
    async with Client(streamable_http_client(url, http_client=http), mode=mode) as client:
        tools = {tool.name: tool for tool in (await client.list_tools()).tools}
        for tool in tools.values():
            jsonschema.Draft202012Validator.check_schema(tool.input_schema)
            jsonschema.Draft202012Validator.check_schema(tool.output_schema)
        key = f"python-{mode}"
        arguments = {"slug": f"{PROJECT}-{mode}", "title": "From Python"}
        for name, given, refused, expected in [
            ("whoami", {}, False, "class"),
            ("get_project", {"project": "nothing"}, True, "not_found"),
            ("whoami", {"colour": "red"}, True, "invalid_arguments"),
            ("create_project", arguments, True, "precondition_required"),
            ("create_project", {**arguments, "idempotency_key": key}, False, "slug"),
        ]:
            result = await client.call_tool(name, given)
            content = result.structured_content
            assert bool(result.is_error) == refused, f"{mode}: {name} {given}: {content}"
            assert expected == content.get("code") if refused else expected in content, f"{mode}: {name}: {content}"
            jsonschema.validate(content, tools[name].output_schema)
        return list(tools)


async def main() -> None:
    listed = [await check(sys.argv[1], mode) for mode in ("auto", "legacy")]
    assert listed[0] == listed[1], "both modes list the same tools in the same order"
    print(f"{len(listed[0])} tools, the same in both modes")


asyncio.run(main())
