import { execFileSync } from 'node:child_process';

// A network of its own for clients that stand for another machine: packets of the usual size in place of the 64 KiB of
// the loopback, and buffers of their own, which are bounded, since their memory is not the server's.

/** Of the server and of the clients; a range that is reserved for benchmarks (RFC 2544). */
const addresses = { server: '198.18.55.1', clients: '198.18.55.2' };
const bufferBytes = { min: 4096, usual: 65_536, max: 262_144 };

export interface OtherMachine {
  /** A program and its first arguments, before the command that is to run there. */
  readonly command: readonly string[];
  /** The address of the clients. */
  readonly from: string;
  /** Where they reach the server. */
  readonly host: string;
}

const ip = (...args: string[]) => execFileSync('ip', args, { stdio: 'ignore' });

/** Null where the user may not make one. */
export function startOtherMachine(stops: (() => Promise<unknown>)[]): OtherMachine | null {
  const name = `reelwright-${process.pid}`;
  const [inner, outer] = [`rwc${process.pid}`, `rws${process.pid}`];
  const within = (...args: string[]) => ip('netns', 'exec', name, ...args);
  try {
    ip('netns', 'add', name);
  } catch {
    return null;
  }
  stops.push(() => Promise.resolve(ip('netns', 'del', name)));
  ip('link', 'add', outer, 'type', 'veth', 'peer', 'name', inner, 'netns', name);
  ip('addr', 'add', `${addresses.server}/30`, 'dev', outer);
  ip('link', 'set', outer, 'up');
  within('ip', 'addr', 'add', `${addresses.clients}/30`, 'dev', inner);
  within('ip', 'link', 'set', inner, 'up');
  within('sysctl', '-qw', `net.ipv4.tcp_rmem=${Object.values(bufferBytes).join(' ')}`);
  return { command: ['ip', 'netns', 'exec', name], from: addresses.clients, host: addresses.server };
}
