// Runs the service as a deployment does, from a file and the environment, and sends its port to the parent.
import { pathToFileURL } from "node:url";
import { startService } from "@svc/express";
import { expensesService } from "../../../src/service.ts";
import { cheapCost } from "../../support/cheap-cost.ts";

async function start([, , file = ""]: readonly string[]): Promise<void> {
  const options = expensesService(process.env, {
    seed: true,
    demoUsers: true,
    passwords: { cost: cheapCost },
  });
  const { address } = await startService({ ...options, config: pathToFileURL(file) });
  process.send?.({ port: address?.port });
}

void start(process.argv);
