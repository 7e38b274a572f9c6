import { startService } from "@svc/express";
import { receiptsService } from "./src/service.ts";

void startService(receiptsService(process.env));
