#!/usr/bin/env python3
"""after_model.py redact|block: Gemini CLI's answers of AfterModel."""
import json, os, sys, time
event = json.load(sys.stdin)
if sys.argv[1] == "block":
    print(json.dumps({"decision": "deny", "reason": "that answer stays here: C4C4"}))
else:
    response = json.loads(json.dumps(event["llm_response"]))
    found = False
    for candidate in response["candidates"]:
        parts = candidate["content"]["parts"]
        for i, part in enumerate(parts):
            if isinstance(part, str) and "HUNTER2" in part:
                parts[i] = part.replace("HUNTER2", "[redacted-C5C5]")
                found = True
    if found:
        print(json.dumps({"hookSpecificOutput": {"hookEventName": "AfterModel", "llm_response": response}}))
