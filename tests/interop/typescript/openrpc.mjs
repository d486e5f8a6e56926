// Is proto-docs/openrpc.json what OpenRPC says such a document is? Usage: node openrpc.mjs DOCUMENT

import { readFileSync } from "node:fs";
import { createRequire } from "node:module";

const require = createRequire(process.cwd() + "/");
const Ajv = require("ajv").default;
const meta = structuredClone(require("@open-rpc/meta-schema").default);
// It leans on a description of JSON Schema that would have to be fetched; the daemon's own tests check the schemas.
delete meta.$schema;
meta.definitions.JSONSchema = true;
const dialect = {
  $id: "https://meta.json-schema.tools/",
  definitions: { JSONSchemaObject: { properties: { $ref: { type: "string" } } } },
};

const document = JSON.parse(readFileSync(process.argv[2], "utf8"));
const ajv = new Ajv({ strict: false, allErrors: true, validateFormats: false, schemas: [dialect] });
const validate = ajv.compile(meta);
if (!validate(document)) {
  for (const { instancePath, message } of validate.errors) console.error(`${instancePath}: ${message}`);
  process.exit(1);
}
console.log(`  ${document.methods.length} methods`);
