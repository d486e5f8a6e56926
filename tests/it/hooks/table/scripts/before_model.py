#!/usr/bin/env python3
"""before_model.py change|answer|block|temperature: Gemini CLI's answers of BeforeModel."""
import json, os, sys, time
event = json.load(sys.stdin)
request = event["llm_request"]
kind = sys.argv[1]
if kind == "change":
    messages = json.loads(json.dumps(request["messages"]))
    for message in messages:
        if message["role"] == "user" and isinstance(message["content"], str):
            message["content"] = message["content"].replace("HUNTER2", "[masked-C1C1]")
    print(json.dumps({"hookSpecificOutput": {"hookEventName": "BeforeModel", "llm_request": {"messages": messages}}}))
elif kind == "temperature":
    print(json.dumps({"hookSpecificOutput": {"hookEventName": "BeforeModel", "llm_request": {"config": {"temperature": 0.125}}}}))
elif kind == "answer":
    print(json.dumps({"hookSpecificOutput": {"hookEventName": "BeforeModel", "llm_response": {
        "candidates": [{"content": {"role": "model", "parts": ["answer from the cache: C2C2"]}, "finishReason": "STOP"}],
        "usageMetadata": {"totalTokenCount": 1}}}}))
elif kind == "block":
    print(json.dumps({"decision": "deny", "reason": "no request leaves this house: C3C3"}))
