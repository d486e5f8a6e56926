"""The official Python SDK's client: lists agents, runs one, sees progress, cancels one, answers a question, and goes on after the
daemon was killed. One line for each that worked."""
import asyncio, os, pathlib, subprocess, sys, urllib.parse

import httpx2
import mcp_types as types
from mcp import Client
from mcp.client.stdio import StdioServerParameters
from mcp.client.streamable_http import streamable_http_client

WORK, WAY = os.environ["WORK"], sys.argv[1]
ASKED = []


async def elicited(_context, params):
    ASKED.append(params.message)
    return types.ElicitResult(action="accept", content={"decision": "allowOnce"})


def connect():
    if WAY == "stdio":
        server = StdioServerParameters(
            command=os.environ["COMPANION"], args=["mcp", "--no-spawn", "--workspace", WORK], env=dict(os.environ)
        )
    else:
        headers = {"Authorization": f"Bearer {os.environ['TOKEN']}"}
        url = f"{os.environ['URL']}?workspace={urllib.parse.quote(WORK, safe='')}"
        timeout = httpx2.Timeout(30, read=300)
        server = streamable_http_client(url, http_client=httpx2.AsyncClient(headers=headers, timeout=timeout))
    return Client(server, elicitation_callback=elicited)


async def until_busy(client, name):
    """A call whose run is in the middle of its work, and the run."""
    busy, seen = asyncio.Event(), {}

    async def told(_progress, _total, message):
        if message.startswith("run "):
            seen["run"] = message.split(" ")[1]
        if message == "run_shell_command begins":
            busy.set()

    call = asyncio.create_task(client.call_tool(name, {"prompt": "go"}, progress_callback=told))
    waiting = asyncio.create_task(busy.wait())
    await asyncio.wait([call, waiting], return_when=asyncio.FIRST_COMPLETED)
    assert busy.is_set(), call.result()
    return call, seen["run"]


async def first():
    async with connect() as client:
        names = [tool.name for tool in (await client.list_tools()).tools]
        for name in ["judge", "sleeper", "writer", "run_status", "run_wait", "run_cancel"]:
            assert name in names, (name, names)
        print("lists agents")

        progress = []

        async def told(count, _total, message):
            progress.append((count, message))

        judged = await client.call_tool("judge", {"prompt": "go"}, progress_callback=told)
        assert judged.structured_content["result"] == {"score": 7}, judged
        print("runs one, and gets its typed result")
        counts = [count for count, _ in progress]
        assert counts and counts == sorted(set(counts)), progress
        print("sees progress")

        call, run = await until_busy(client, "sleeper")
        call.cancel()
        await asyncio.gather(call, return_exceptions=True)
        ended = await client.call_tool("run_wait", {"runId": run})
        assert ended.structured_content["reason"] == "ABORTED", ended
        print("cancels one")

        written = await client.call_tool("writer", {"prompt": "go"})
        assert written.content[0].text == "written", written
        assert pathlib.Path(WORK, "note.txt").exists() and len(ASKED) == 1 and "note.txt" in ASKED[0], ASKED
        print("answers a question")

        call, run = await until_busy(client, "sleeper")
        await asyncio.to_thread(subprocess.run, [os.environ["RESTART"]], check=True)
        if WAY == "stdio":
            answer = await call
            assert answer.content[0].text == "survived", answer
            return None
        call.cancel()
        await asyncio.gather(call, return_exceptions=True)
        return run


async def main():
    try:
        run = await first()
    except BaseExceptionGroup as group:
        raise group.exceptions[0]
    if run:
        # The session ended with the daemon; the next one finds the run.
        async with connect() as client:
            answer = await client.call_tool("run_wait", {"runId": run})
            assert answer.content[0].text == "survived", answer
    print("survives a restart of the daemon")


asyncio.run(main())
