/** A client whose last request is older than this has left. */
const recentMs = 5_000;

/** Whether a client is the only one that makes requests of this server. */
export class RecentClients {
  #newest = { client: '', atMs: -Infinity };
  /** The newest of another client. */
  #other = { client: '', atMs: -Infinity };

  /** Notes a request of a client at a time, in milliseconds. */
  note(client: string, nowMs: number): void {
    if (client !== this.#newest.client) this.#other = this.#newest;
    this.#newest = { client, atMs: nowMs };
  }

  /** Whether another client has made a request lately. */
  hasOther(client: string, nowMs: number): boolean {
    const { atMs } = client === this.#newest.client ? this.#other : this.#newest;
    return nowMs - atMs < recentMs;
  }
}
