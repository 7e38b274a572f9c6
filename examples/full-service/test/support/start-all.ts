// Starts all services as `start.ts --all` does, but for a temporary checkout.
import { startAll } from "../../src/all.ts";

const { CHECKOUT: checkout, ...env } = process.env;
if (checkout === undefined) throw new Error("CHECKOUT must be the path of a folder");
void startAll({ checkout, env });
