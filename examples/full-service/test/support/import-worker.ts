// Runs only a worker of the service, in a process that the test kills.
import { startService } from "@svc/express";
import { expensesService } from "../../src/service.ts";

void startService(expensesService(process.env, { role: "worker", imports: { stepRows: 20 } }));
