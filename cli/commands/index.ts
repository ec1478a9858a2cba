import type { Command } from '../command.ts';
import { pools } from './cluster.ts';
import { completionCommand } from './completion.ts';
import { doctor } from './doctor.ts';
import { jobCommands } from './jobs.ts';
import { listen } from './listen.ts';
import { mediaCommands } from './media.ts';
import { profilesCheck } from './profiles.ts';
import { serverCommands } from './servers.ts';
import { signingCommands } from './signing.ts';
import { submit } from './submit.ts';

/** The commands, in the order in which help shows them. */
export const commands: readonly Command[] = [
  submit,
  ...jobCommands,
  ...mediaCommands,
  ...signingCommands,
  listen,
  pools,
  profilesCheck,
  doctor,
  ...serverCommands,
  completionCommand(() => commands),
];
