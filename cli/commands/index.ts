import type { Command } from '../command.ts';
import { api } from './api.ts';
import { pools } from './cluster.ts';
import { complete, completionCommand } from './completion.ts';
import { doctor } from './doctor.ts';
import { jobCommands } from './jobs.ts';
import { keyCommands } from './keys.ts';
import { listen } from './listen.ts';
import { mediaCommands } from './media.ts';
import { profilesCheck } from './profiles.ts';
import { rolloutCommands } from './rollouts.ts';
import { serverCommands } from './servers.ts';
import { signingCommands } from './signing.ts';
import { sourceCommands } from './sources.ts';
import { submit } from './submit.ts';
import { usage } from './usage.ts';
import { webhookCommands } from './webhooks.ts';

/** The commands, in the order in which help shows them. */
export const commands: readonly Command[] = [
  submit,
  ...sourceCommands,
  ...jobCommands,
  ...webhookCommands,
  ...mediaCommands,
  ...signingCommands,
  ...rolloutCommands,
  ...keyCommands,
  usage,
  listen,
  pools,
  profilesCheck,
  doctor,
  ...serverCommands,
  api,
  completionCommand(() => commands),
  complete,
];
