import { startService } from "@svc/express";
import { notesService } from "./src/service.ts";

void startService(notesService(process.env));
