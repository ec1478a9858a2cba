/** The player's current state; every event has it in its `detail`. Times in seconds. */
export interface PlayerState {
  readonly currentTime: number;
  readonly duration: number;
  readonly paused: boolean;
  readonly volume: number;
  readonly muted: boolean;
  readonly playbackRate: number;
}

/** `missing`: the element has no token; `refused`: it has expired, or is of another media. */
export interface TokenRequest {
  readonly hash: string;
  readonly reason: 'missing' | 'refused';
}

/** `missing`: the element has no ticket; `refused`: it has expired, was withdrawn, or is of another media. */
export interface TicketRequest {
  readonly hash: string;
  /** `expiring`: it is about to, and playback goes on. */
  readonly reason: 'missing' | 'refused' | 'expiring';
}

/** Why the stream does not play: a stable `kind`, and what to show, with a remedy. */
export interface PlayerProblem extends PlayerState {
  readonly kind: string;
  readonly title: string;
  readonly message: string;
}

/** What playback waits for, in the event `waitingfor`; both are '' when the wait is over. */
export interface PlayerWait extends PlayerState {
  readonly reason: 'network' | 'server' | '';
  readonly message: string;
}

/** `<reelwright-player hash token ticket poster src label>` */
export class ReelwrightPlayer extends HTMLElement {
  hash: string;
  token: string;
  ticket: string;
  getTicket: ((request: TicketRequest) => string | Promise<string>) | null;
  getToken: ((request: TokenRequest) => string | Promise<string>) | null;
  currentTime: number;
  volume: number;
  muted: boolean;
  readonly paused: boolean;
  readonly duration: number;
  readonly playbackRate: number;
  play(): void;
  pause(): void;
}

declare global {
  interface HTMLElementTagNameMap {
    'reelwright-player': ReelwrightPlayer;
  }
}
