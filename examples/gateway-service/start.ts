import { startService } from "@svc/express";
import { gatewayService } from "./src/service.ts";

void startService(gatewayService(process.env));
