package realkafka;

import java.util.List;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.locks.LockSupport;

/** A client application in a thread of its own: it waits for the scenario to begin, then works until it is closed. */
abstract class Application implements Runnable {
    final Settings settings;
    final Lines history;
    final String name;
    final Thread thread;
    private final CountDownLatch begun = new CountDownLatch(1);
    volatile long startUs;
    volatile boolean closing;

    Application(Settings settings, Lines history) {
        this.settings = settings;
        this.history = history;
        this.name = settings.name();
        this.thread = new Thread(this, name);
    }

    /** Begins the scenario, whose time counts from a Unix time in microseconds. */
    void begin(long scenarioStartUs) {
        startUs = scenarioStartUs;
        begun.countDown();
    }

    /** Handles a command of the runner to this client. */
    abstract void command(List<String> words);

    abstract void work() throws InterruptedException;

    /** Called from another thread: closes the client as an application does at SIGTERM. */
    abstract void close();

    @Override
    public void run() {
        try {
            begun.await();
            work();
            history.event(name, "closed");
        } catch (InterruptedException error) {
            Thread.currentThread().interrupt();
        } catch (RuntimeException error) {
            error("work", error);
            error.printStackTrace();
        }
    }

    void error(String during, Throwable error) {
        history.event(name, "error", "during", during, "error", Lines.code(error), "exception", Lines.kind(error),
                "message", String.valueOf(Lines.cause(error).getMessage()));
    }

    /** Waits until a Unix time in microseconds; returns early when the application is closing. */
    void sleepUntil(long wallUs) {
        long left = wallUs - Lines.nowUs();
        while (left > 0 && !closing) {
            LockSupport.parkNanos(Math.min(left, 100_000) * 1_000);
            left = wallUs - Lines.nowUs();
        }
    }
}
