package realkafka;

import java.io.IOException;
import java.io.Reader;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.List;
import java.util.Properties;
import java.util.TreeMap;

/** Settings of one client from a properties file; keys that begin with "config." are Kafka's. */
final class Settings {
    private final Properties all = new Properties();

    Settings(String path) throws IOException {
        try (Reader reader = Files.newBufferedReader(Path.of(path), StandardCharsets.UTF_8)) {
            all.load(reader);
        }
    }

    String text(String key, String otherwise) {
        return all.getProperty(key, otherwise);
    }

    String name() {
        return all.getProperty("name");
    }

    long number(String key, long otherwise) {
        return Long.parseLong(all.getProperty(key, Long.toString(otherwise)));
    }

    List<String> list(String key) {
        String found = all.getProperty(key, "");
        return found.isEmpty() ? List.of() : List.of(found.split(","));
    }

    /** Returns Kafka's configuration. */
    TreeMap<String, Object> config() {
        TreeMap<String, Object> found = new TreeMap<>();
        for (String key : all.stringPropertyNames()) {
            if (key.startsWith("config.")) {
                found.put(key.substring("config.".length()), all.getProperty(key));
            }
        }
        return found;
    }
}
