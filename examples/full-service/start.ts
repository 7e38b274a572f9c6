// `npm start`: starts the service with its own PostgreSQL, or with that of DATABASE_URL. `npm start -- --all` also starts a
// gateway in front of it and the receipts service that it calls.
import { fileURLToPath } from "node:url";
import { startAll } from "./src/all.ts";
import { startDemo } from "./src/demo.ts";

const checkout = fileURLToPath(new URL("../..", import.meta.url));

void (process.argv[2] === "--all" ? startAll({ checkout }) : startDemo({ checkout }));
