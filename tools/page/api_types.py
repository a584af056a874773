"""Write the types of the server's answers as TypeScript, from its description: `api_types.py http://…/openapi.json`.

The page's scripts name a type by its route, never by the name of its schema, which only stands inside `Api`.
"""

from __future__ import annotations

import json
import re
import sys
from pathlib import Path
from typing import Any
from urllib.request import urlopen

TARGET = Path(__file__).with_name("api.d.ts")
HEADER = """\
// What the server answers and which parameters it takes. Made from /openapi.json by api_types.py; not changed by hand.

declare namespace Api {
"""
PRIMITIVES = {"string": "string", "integer": "number", "number": "number", "boolean": "boolean", "null": "null"}

Schema = dict[str, Any]


def declarations(description: Schema) -> str:
    """Return `api.d.ts`: the schemas of all answers, and the answers and parameters of the routes by their paths."""
    schemas = description["components"]["schemas"]
    routes: dict[str, list[str]] = {"get": [], "post": []}
    used: set[str] = set()
    for path, operations in sorted(description["paths"].items()):
        for method, operation in operations.items():
            answer = operation["responses"]["200"].get("content", {}).get("application/json", {}).get("schema")
            if answer:
                used |= _reachable([answer, operation.get("parameters")], schemas)
                routes[method].append(f'  "{path}": {{ query: {_query(operation)}; answer: {_type(answer)} }};')
    named = [_interface(name, schemas[name]) for name in sorted(used)]
    tables = [f"interface {title} {{\n" + "\n".join(routes[title[:-1].lower()]) + "\n}" for title in ("Gets", "Posts")]
    return HEADER + "\n".join(named) + "}\n\n" + "\n\n".join(tables) + "\n"


def _reachable(schema: Any, schemas: Schema) -> set[str]:
    found: set[str] = set()
    waiting = [schema]
    while waiting:
        names = set(re.findall(r'"#/components/schemas/([^"]+)"', json.dumps(waiting.pop()))) - found
        found |= names
        waiting += [schemas[name] for name in names]
    return found


def _query(operation: Schema) -> str:
    parameters = [p for p in operation.get("parameters", []) if p["in"] == "query"]
    fields = [f"{p['name']}{'' if p.get('required') else '?'}: {_type(p['schema'])}" for p in parameters]
    return "{ " + "; ".join(fields) + " }" if fields else "{}"


def _interface(name: str, schema: Schema) -> str:
    """Return the declaration of a schema; an answer has all its fields, also those with a default."""
    if "properties" not in schema:
        return f"  type {_identifier(name)} = {_type(schema)};\n"
    fields = [f"    {field}: {_type(kind)};\n" for field, kind in schema["properties"].items()]
    return f"  interface {_identifier(name)} {{\n{''.join(fields)}  }}\n"


def _identifier(name: str) -> str:
    return re.sub(r"\W", "_", name)


def _type(schema: Schema) -> str:
    match schema:
        case {"$ref": str(reference)}:
            return "Api." + _identifier(reference.rpartition("/")[2])
        case {"anyOf": list(kinds)} | {"oneOf": list(kinds)}:
            return " | ".join(dict.fromkeys(map(_type, kinds)))
        case {"enum": list(values)}:
            return " | ".join(map(json.dumps, values))
        case {"const": value}:
            return json.dumps(value)
        case {"prefixItems": list(kinds)}:
            return "[" + ", ".join(map(_type, kinds)) + "]"
        case {"type": "array"}:
            return f"Array<{_type(schema.get('items', {}))}>"
        case {"type": "object"}:
            values = schema.get("additionalProperties", {})
            return f"Record<string, {_type(values if isinstance(values, dict) else {})}>"
        case {"type": str(kind)}:
            return PRIMITIVES[kind]
        case _:
            return "unknown"


if __name__ == "__main__":
    source = sys.argv[1]
    text = urlopen(source).read() if source.startswith("http") else Path(source).read_bytes()
    TARGET.write_text(declarations(json.loads(text)), "utf-8")
