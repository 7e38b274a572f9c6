// `npm start`: starts the service with its own PostgreSQL, or with that of DATABASE_URL.
import { fileURLToPath } from "node:url";
import { startDemo } from "./src/demo.ts";

void startDemo({ checkout: fileURLToPath(new URL("../..", import.meta.url)) });
