// A worker of the service, with nothing else in its process: to be killed.
import { startService } from "@svc/express";
import { expensesService } from "../../src/service.ts";

void startService(expensesService(process.env, { role: "worker", imports: { stepRows: 20 } }));
