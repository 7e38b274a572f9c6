import { announce, answerQuestions, settingsOfParent } from "../harness/within-service.ts";
import { type KeyVerifierSettings, startKeyVerifier } from "./key-verifying.ts";

const { port, rests } = await startKeyVerifier(settingsOfParent<KeyVerifierSettings>());
answerQuestions({ rests });
announce(port);
