import { z } from "zod";

/** The tokens of a session, in the form that programs receive. */
export const tokenPair = z
  .strictObject({
    access_token: z.string(),
    refresh_token: z.string(),
    token_type: z.literal("Bearer"),
    expires_in: z.int().meta({ description: "The lifetime of the access token in seconds." }),
  })
  .meta({ id: "TokenPair" });
