package realkafka;

import java.io.FileOutputStream;
import java.io.IOException;
import java.io.OutputStream;
import java.nio.charset.StandardCharsets;
import java.time.Instant;
import java.time.temporal.ChronoUnit;
import java.util.Collection;
import java.util.Map;
import org.apache.kafka.common.protocol.Errors;

/** Writer of JSON lines, one system call each, so that a killed process leaves whole lines. */
final class Lines {
    private final OutputStream stream;

    Lines(String path) throws IOException {
        stream = new FileOutputStream(path, true);
    }

    Lines(OutputStream stream) {
        this.stream = stream;
    }

    /** Writes one object of the given keys and values. */
    synchronized void write(Object... pairs) {
        StringBuilder line = new StringBuilder(160);
        object(line, pairs);
        line.append('\n');
        try {
            stream.write(line.toString().getBytes(StandardCharsets.UTF_8));
            stream.flush();
        } catch (IOException error) {
            System.err.println("cannot write the history: " + error);
            Runtime.getRuntime().halt(70);
        }
    }

    /** Writes an event of a client with the current wall time. */
    void event(String client, String event, Object... pairs) {
        Object[] all = new Object[pairs.length + 6];
        all[0] = "wall_us";
        all[1] = nowUs();
        all[2] = "client";
        all[3] = client;
        all[4] = "event";
        all[5] = event;
        System.arraycopy(pairs, 0, all, 6, pairs.length);
        write(all);
    }

    static long nowUs() {
        return ChronoUnit.MICROS.between(Instant.EPOCH, Instant.now());
    }

    /** Returns the name of Kafka's error code for an exception: NONE for one of the client alone. */
    static String code(Throwable error) {
        Throwable cause = cause(error);
        Errors found = Errors.forException(cause);
        return found == Errors.UNKNOWN_SERVER_ERROR
                && !(cause instanceof org.apache.kafka.common.errors.UnknownServerException) ? "NONE" : found.name();
    }

    /** Returns the exception behind those that futures wrap it in. */
    static Throwable cause(Throwable error) {
        Throwable found = error;
        while (found.getCause() != null && (found instanceof java.util.concurrent.ExecutionException
                || found instanceof java.util.concurrent.CompletionException
                || found.getClass() == org.apache.kafka.common.KafkaException.class)) {
            found = found.getCause();
        }
        return found;
    }

    static String kind(Throwable error) {
        return cause(error).getClass().getSimpleName();
    }

    private static void object(StringBuilder line, Object... pairs) {
        line.append('{');
        for (int i = 0; i < pairs.length; i += 2) {
            if (i > 0) {
                line.append(", ");
            }
            string(line, String.valueOf(pairs[i]));
            line.append(": ");
            value(line, pairs[i + 1]);
        }
        line.append('}');
    }

    private static void value(StringBuilder line, Object value) {
        if (value == null || value instanceof Number || value instanceof Boolean || value instanceof Raw) {
            line.append(value);
        } else if (value instanceof Map<?, ?> map) {
            Object[] pairs = new Object[map.size() * 2];
            int at = 0;
            for (Map.Entry<?, ?> entry : map.entrySet()) {
                pairs[at++] = entry.getKey();
                pairs[at++] = entry.getValue();
            }
            object(line, pairs);
        } else if (value instanceof Collection<?> list) {
            line.append('[');
            String comma = "";
            for (Object item : list) {
                line.append(comma);
                value(line, item);
                comma = ", ";
            }
            line.append(']');
        } else {
            string(line, value.toString());
        }
    }

    private static void string(StringBuilder line, String text) {
        line.append('"');
        for (int i = 0; i < text.length(); i++) {
            char c = text.charAt(i);
            if (c == '"' || c == '\\') {
                line.append('\\').append(c);
            } else if (c < 0x20 || c > 0x7e) {
                line.append(String.format("\\u%04x", (int) c));
            } else {
                line.append(c);
            }
        }
        line.append('"');
    }

    /** A value that is JSON already. */
    record Raw(String json) {
        @Override
        public String toString() {
            return json;
        }
    }
}
